import type { Match } from './match-schema.ts'

/** Lets each key be undefined, too. */
export type Loose<Spec> = { readonly [Key in keyof Spec]?: Spec[Key] | undefined }

/** The conditions of a rule as written, after validation. */
export type MatchSpec = Loose<Match>

/** The conditions of a rule on the client. */
export type ClientSpec = Extract<NonNullable<Match['client']>, { readonly name?: unknown }>

/** The conditions of a rule on the HTTP exchange. */
export type HttpSpec = NonNullable<Match['http']>

/** Returns the matches that a match combines. */
export function branches(spec: MatchSpec): readonly MatchSpec[] {
  return [...(spec.any ?? []), ...(spec.all ?? []), ...(spec.not === undefined ? [] : [spec.not])]
}
