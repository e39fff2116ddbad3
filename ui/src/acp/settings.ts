import { recordIn, recordsIn, textIn, type Json } from './wire';

/** What a session runs with, in words for the header. */
export interface Settings {
  model: string;
  mode: string;
}

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
  let { model, mode } = before;
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
  return { model, mode };
}
