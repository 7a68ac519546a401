// SPDX-License-Identifier: Apache-2.0
// Where the page starts.
import { render } from 'preact';
import { App } from './app/App.tsx';
import { PageState } from './app/state/state.ts';

render(<App state={new PageState()} />, document.getElementById('app')!);
