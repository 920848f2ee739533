import { UNTRUSTED } from '../base/system-reason.ts'
import type { Connector } from './connector.ts'

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
  return `has a certificate that is not trusted (${message}): name its CA with --upstream-ca, or its name with --upstream-servername`
}
