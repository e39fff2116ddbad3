// For looking at the page while it is made: `npm run dev`, then /dev/?scene=work (`sceneNamed` has the others).
import { startPage } from '../src/start';
import { PlayedTransport } from './played_transport';
import { sceneNamed } from './scenes';

const name = new URLSearchParams(window.location.search).get('scene') ?? 'work';
startPage(new PlayedTransport(sceneNamed(name)));
