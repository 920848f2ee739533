import { UNTRUSTED } from '../base/system-reason.ts'
import { oneLine } from '../base/text/foreign-text.ts'
import type { Connector } from './connector.ts'

const MAX_REASON = 200

/** Resolves to what is wrong with the upstream now; undefined when it accepts connections. */
export function probe(connector: Connector): Promise<string | undefined> {
  return new Promise((resolve) => {
    connector((error, socket) => {
      if (socket !== null) {
        socket.on('error', () => undefined)
        socket.destroy()
      }
      resolve(error === null ? undefined : troubleOf(error))
    })
  })
}

function troubleOf({ message, cause }: Error): string {
  const { code = '' } = (cause ?? {}) as NodeJS.ErrnoException
  if (!UNTRUSTED.test(code)) return 'does not accept connections'
  const reason = oneLine(message, MAX_REASON)
  if (/EXPIRED|NOT_YET_VALID/.test(code))
    return `has a certificate that is not valid now (${reason})`
  return `has a certificate that is not trusted (${reason}): pass its CA with --upstream-ca, or its name with --upstream-servername`
}
