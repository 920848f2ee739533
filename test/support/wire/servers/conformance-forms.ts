import type { ElicitRequestFormParams } from '@modelcontextprotocol/sdk/types.js'

type Form = ElicitRequestFormParams['requestedSchema']

/** A form with two required fields. */
export const person: Form = {
  type: 'object',
  properties: {
    username: { type: 'string', description: 'The name of the user' },
    email: { type: 'string', description: 'The address of the user' },
  },
  required: ['username', 'email'],
}

/** A form with a default for each primitive type. */
export const elicitationDefaults: Form = {
  type: 'object',
  properties: {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
  required: [],
}

/** A form with each way to spell a choice. */
export const elicitationEnums: Form = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: { type: 'string', oneOf: titled('Option') },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: {
      type: 'array',
      items: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    },
    titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
  },
  required: [],
}

function titled(noun: string): { const: string; title: string }[] {
  return ['First', 'Second', 'Third'].map((order, index) => ({
    const: `value${index + 1}`,
    title: `${order} ${noun}`,
  }))
}
