// SPDX-License-Identifier: Apache-2.0
// The formats of the schemas that tests compare messages with, for Ajv. CommonJS: compiled validators require it.

const integer = (min, max) => ({ type: 'number', validate: (n) => Number.isInteger(n) && n >= min && n <= max });

module.exports = {
  int32: integer(-(2 ** 31), 2 ** 31 - 1),
  int64: integer(-(2 ** 63), 2 ** 63),
  uint16: integer(0, 65535),
  uint32: integer(0, 2 ** 32 - 1),
  uint64: integer(0, 2 ** 64),
  double: { type: 'number', validate: Number.isFinite },
  uri: { validate: (s) => URL.canParse(s) },
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/, // as the daemon writes times
};
