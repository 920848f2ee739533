import { shownUrl } from '#base'
import { AdminError, askAdmin, type Endpoint, endpointText, type ResponseOf } from '#admin-api'
import type { Control } from './control-tool.ts'
import { DeniedError } from '../policy/denied-error.ts'
import { maybeText } from './shapes.ts'

/** The input that selects one of the open sidecars. */
export const SIDECAR = maybeText(
  'The admin URL of a sidecar, as in list_targets; needed when there are several.',
  200,
)

/** The input that selects one of the MCP endpoints. */
export const TARGET = maybeText(
  'The MCP endpoint, as in list_targets; needed when there are several.',
  500,
)

/** Returns the named endpoint, or else the only one. Throws a `DeniedError`. */
export function chosenTarget({ targets }: Control, asked: string | undefined): URL {
  if (asked !== undefined) {
    if (!URL.canParse(asked)) throw new DeniedError('the target is not a valid URL')
    const url = new URL(asked)
    // The list shows no query, which may be needed.
    return targets.find((each) => shownUrl(each) === url.href) ?? url
  }
  if (targets.length === 1) return targets[0]!
  throw new DeniedError(
    targets.length === 0
      ? 'specify the target'
      : `multiple targets are available; specify one of ${targets.map(shownUrl).join(', ')}`,
  )
}

/** Returns the URL of an admin port. */
export function adminUrl({ admin }: Control['bounds']['sidecars'][number]): URL {
  return new URL(`http://${endpointText(admin)}`)
}

/**
 * Returns the named sidecar, or else the only one, as the sidecar of a plan, and what asks its admin
 * port. Both throw a `DeniedError`.
 */
export function chosenSidecar(
  { bounds: { sidecars }, access: { readToken } }: Control,
  asked: string | undefined,
) {
  const all = sidecars.map((each) => adminUrl(each).origin)
  const origin = asked === undefined || !URL.canParse(asked) ? asked : new URL(asked).origin
  const [found, another] = sidecars.filter((_, i) => origin === undefined || all[i] === origin)
  if (found === undefined || another !== undefined) {
    const open =
      all.length === 0
        ? 'no sidecars; ask a person to restart it with --sidecar'
        : `only ${all.join(', ')}`
    throw new DeniedError(
      asked === undefined && all.length > 1
        ? `multiple sidecars are available; specify one of ${all.join(', ')}`
        : `this server may use ${open}`,
    )
  }
  const url = adminUrl(found)
  return {
    setting: { admin: url.origin, rulesFile: found.rulesFile },
    ask: async <E extends Endpoint>(endpoint: E): Promise<ResponseOf<E>> => {
      try {
        return (await askAdmin({ url, readToken }, endpoint, { client: 'mcp' })).value
      } catch (error) {
        if (!(error instanceof AdminError)) throw error
        throw new DeniedError(`${url.origin}: ${error.message}; check that the sidecar runs`)
      }
    },
  }
}
