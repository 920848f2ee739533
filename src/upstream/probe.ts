import type { Connector } from './connector.ts'

/** Tells whether the app accepts connections right now. */
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
