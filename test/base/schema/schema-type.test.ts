import { Type as Typebox } from 'typebox'
import { describe, expect, it } from 'vitest'
import { Type } from '../../../src/base/schema/schema-type.ts'

/** One schema of everything, made by either. */
function made(by: typeof Type): unknown {
  const text = by.String({ minLength: 1, description: 'a text' })
  const inner = by.Object({ 'a-b': by.Optional(text), c: by.Boolean({ default: false }) })
  return by.Object(
    {
      text,
      inner,
      none: by.Object({}),
      numbers: by.Array(by.Number({ minimum: 0.5 }), { minItems: 1 }),
      whole: by.Optional(by.Integer({ maximum: 3 })),
      each: by.Record(by.String(), by.Unknown({ examples: [1] }), { maxProperties: 2 }),
      both: by.Optional(by.Unsafe<1>({ type: 'integer', enum: [1] })),
      // What is copied from an optional one is not optional.
      copied: by.Unsafe<string>({ ...by.Optional(text) }),
      any: by.Unknown(),
    },
    { additionalProperties: false },
  )
}

describe('a schema', () => {
  it('is what typebox would have made, to the order of its keys', () => {
    const ours = JSON.stringify(made(Type), undefined, 1)
    expect(ours).toBe(JSON.stringify(made(Typebox as unknown as typeof Type), undefined, 1))
    expect(ours).toContain('"required"')
  })
})
