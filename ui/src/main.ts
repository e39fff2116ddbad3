import { startPage } from './start';
import { chooseTransport } from './transport/choose';

startPage(await chooseTransport());
