import * as Type from 'typebox'

/** Declares an input, which has no other members. */
export const closed = <Members extends Type.TProperties>(members: Members) =>
  Type.Object(members, { additionalProperties: false })

/** Declares a list of objects. */
export const listOf = <Members extends Type.TProperties>(members: Members) =>
  Type.Array(Type.Object(members))

export const text = (description: string, maxLength?: number) =>
  Type.String({ description, ...(maxLength !== undefined && { maxLength }) })

export const maybeText = (description: string, maxLength?: number) =>
  Type.Optional(text(description, maxLength))

export const maybeInteger = (minimum: number, maximum: number, description: string) =>
  Type.Optional(Type.Integer({ minimum, maximum, description }))

/** A text, or null where there is none. */
export const textOrNull = Type.Union([Type.String(), Type.Null()])

/** A number, or null where nothing was measured. */
export const numberOrNull = (description?: string) =>
  Type.Union([Type.Number(), Type.Null()], description === undefined ? {} : { description })

/** Returns the members of a value that an object of this shape has. */
export function shaped({ properties }: Type.TObject, value: object): Record<string, unknown> {
  const all = value as Readonly<Record<string, unknown>>
  return Object.fromEntries(Object.keys(properties).map((key) => [key, all[key]]))
}

/** Returns the members of an object in words, without those that have no value. */
export function wordsOf(value: object): string {
  return Object.entries(value)
    .filter(([, each]) => each !== null && each !== undefined)
    .map(
      ([key, each]) => `${key} ${typeof each === 'object' ? JSON.stringify(each) : String(each)}`,
    )
    .join(', ')
}
