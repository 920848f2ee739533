const CALLS = {
  type: 'array',
  minItems: 1,
  maxItems: 1000,
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['tool'],
    properties: {
      tool: { type: 'string', minLength: 1 },
      arguments: { type: 'object' },
      weight: { type: 'number', exclusiveMinimum: 0, maximum: 1e6, default: 1 },
      expect: {
        anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
        default: [],
      },
    },
  },
}

/** The schema of a calls file: a list of calls, alone or under `calls`. */
export const CALLS_SCHEMA = {
  anyOf: [
    {
      type: 'object',
      additionalProperties: false,
      required: ['calls'],
      properties: { calls: CALLS },
    },
    CALLS,
  ],
}

/** Identifies the format of a baseline file. */
export const BASELINE_FORMAT = 'squall.baseline/1'

/** The schema of a baseline file: the sizes of the parts of each response. */
export const BASELINE_SCHEMA = {
  type: 'object',
  required: ['schema', 'responses'],
  properties: {
    schema: { const: BASELINE_FORMAT },
    responses: {
      type: 'object',
      additionalProperties: { type: 'object', additionalProperties: { type: 'number' } },
    },
  },
}
