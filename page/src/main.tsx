import 'uplot/dist/uPlot.min.css';
import './style.css';
import { render } from 'preact';
import { App } from './App';
import wasm from './engine/ackclock_web.wasm?url';
import { Pool } from './engine/pool';
import { fromAddress } from './laboratory';

const place = document.getElementById('app') as HTMLElement;

function failed(error: unknown): void {
  render(null, place);
  place.textContent = `The laboratory cannot start in this browser: ${error}`;
}

// workers and page are made while the engines are being compiled
const module = WebAssembly.compileStreaming(fetch(wasm));
const pool = new Pool(module);
fromAddress()
  .then((start) => {
    place.textContent = '';
    render(<App pool={pool} start={start} />, place);
    return module;
  })
  .catch(failed);
