import type { ResponseOffset } from './response-offset.ts'
import { section, size } from './config-schema.ts'
import { exclusive } from './exclusive.ts'
import type { ParameterProblem } from '../fault.ts'
import * as Type from 'typebox'

/** The parameter that names a place in a response. */
export const after = Type.Optional(
  section(
    {
      bytes: Type.Optional(size({ description: 'Sends this many bytes of the body first.' })),
      events: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 1_000_000,
          description: 'Sends this many stream events first, not counting comments.',
        }),
      ),
    },
    {
      description:
        'Sends part of the response first, in bytes or events. Default for streams: everything before the response event.',
      examples: [{ events: 2 }, { bytes: '1KiB' }],
    },
  ),
)

/** Returns the problems of `after`, which is valid for one moment only. */
export function afterProblems(
  config: { readonly at: string; readonly after?: ResponseOffset },
  moment: string,
): readonly ParameterProblem[] {
  if (config.after === undefined) return []
  if (config.at !== moment) {
    return [{ path: ['after'], message: `\`after\` requires \`at: ${moment}\`` }]
  }
  return exclusive({ ...config.after }, ['bytes', 'events']).map(({ path, message }) => ({
    path: ['after', ...path],
    message,
  }))
}
