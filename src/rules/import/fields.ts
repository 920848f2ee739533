/** Declares one key of a foreign object: its key in rules, or the reason why it has none. */
export type Field =
  | { readonly to: string }
  /** `limits` marks keys without which a rule would act on more calls than the source. */
  | { readonly why: string; readonly limits?: true }
  /** Says nothing about faults, and is not reported. */
  | { readonly aside: string }

/** Declares the keys of one kind of foreign object. Conversion and documentation read it. */
export interface Shape<Key extends string = string> {
  /** The object's name on the page about imports. */
  readonly title: string
  readonly fields: Readonly<Record<Key, Field>>
}

export function shape<Key extends string>(
  title: string,
  fields: Readonly<Record<Key, Field>>,
): Shape<Key> {
  return { title, fields }
}

/** Declares a key that becomes a key of rules. */
export const to = (key: string): Field => ({ to: key })

/** Declares a key that rules do not need, or cannot express. */
export const leftOut = (why: string): Field => ({ why })

/** Declares a condition that rules cannot express: rules below it are written disabled. */
export const limit = (why: string): Field => ({ why, limits: true })

/** Declares a key that says nothing about faults. */
export const aside = (why: string): Field => ({ aside: why })
