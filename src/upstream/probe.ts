import type { Connector } from './connector.ts'

/** Resolves to true when the upstream accepts connections now. */
export function probe(connector: Connector): Promise<boolean> {
  return new Promise((resolve) => {
    connector((error, socket) => {
      if (socket !== null) {
        socket.on('error', () => undefined)
        socket.destroy()
      }
      resolve(error === null)
    })
  })
}
