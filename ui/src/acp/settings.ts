import { recordIn, recordsIn, textIn, type Json } from './wire';

/** What a session runs with. */
export interface Settings {
  /** In words for the header. */
  model: string;
  mode: string;
  /** The agent runs a line after a dollar sign by itself, as Placard does without a model. To any other it is text for its model. */
  runsDollarLines: boolean;
}

export const UNTOLD: Settings = { model: '', mode: '', runsDollarLines: false };

/** The model that Placard's own agent says it has where no real one is set up. */
const NO_MODEL = 'offline';

function nameOf(list: readonly Json[], idKey: string, id: string | undefined): string | undefined {
  if (id === undefined) return undefined;
  const found = list.find((item) => item[idKey] === id);
  return (found && textIn(found, 'name')) ?? id;
}

/** The options of a select, which may come in groups. */
function flatOptions(option: Json): Json[] {
  return recordsIn(option, 'options').flatMap((item) => ('options' in item ? recordsIn(item, 'options') : [item]));
}

/** Reads model and mode from an answer or update; what it does not say stays as it was. */
export function settingsOf(source: Json, before: Settings): Settings {
  let { model, mode, runsDollarLines } = before;
  const told = textIn(recordIn(recordIn(source, '_meta') ?? {}, 'placard') ?? {}, 'model');
  if (told !== undefined) {
    model = told;
    runsDollarLines = told === NO_MODEL;
  }
  const models = recordIn(source, 'models');
  if (models !== undefined) {
    model = nameOf(recordsIn(models, 'availableModels'), 'modelId', textIn(models, 'currentModelId')) ?? model;
  }
  const modes = recordIn(source, 'modes');
  if (modes !== undefined) mode = nameOf(recordsIn(modes, 'availableModes'), 'id', textIn(modes, 'currentModeId')) ?? mode;
  mode = textIn(source, 'currentModeId') ?? mode;
  for (const option of recordsIn(source, 'configOptions')) {
    const value = nameOf(flatOptions(option), 'value', textIn(option, 'currentValue'));
    if (value === undefined) continue;
    const category = textIn(option, 'category') ?? textIn(option, 'id');
    if (category === 'model') model = value;
    else if (category === 'mode') mode = value;
  }
  return { model, mode, runsDollarLines };
}
