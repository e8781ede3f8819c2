import 'uplot/dist/uPlot.min.css';
import './style.css';
import { render } from 'preact';
import { App } from './App';
import wasm from './engine/ackclock_web.wasm?url';
import { Pool } from './engine/pool';
import { fromAddress } from './laboratory';

const place = document.getElementById('app') as HTMLElement;

async function begin(): Promise<void> {
  const [module, start] = await Promise.all([WebAssembly.compileStreaming(fetch(wasm)), fromAddress()]);
  place.textContent = '';
  render(<App pool={new Pool(module)} start={start} />, place);
}

begin().catch((error) => {
  place.textContent = `The laboratory cannot start in this browser: ${error}`;
});
