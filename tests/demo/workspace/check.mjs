import assert from 'node:assert/strict';

import { total } from './cart.mjs';

assert.equal(total([]), 0);
assert.equal(total([{ price: 250, quantity: 2 }]), 500);
assert.equal(total([{ price: 250, quantity: 2 }, { price: 99, quantity: 1 }]), 599);
console.log('ok');
