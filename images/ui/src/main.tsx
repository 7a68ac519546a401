// main.tsx - where the page starts.
import { render } from 'preact';

render(<main><h1>acpd</h1></main>, document.getElementById('app')!);
