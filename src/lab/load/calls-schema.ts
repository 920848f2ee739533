import type { SchemaNode } from '../../rules/file/schema-node.ts'

const CALLS: SchemaNode = {
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
export const CALLS_SCHEMA: SchemaNode = {
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
