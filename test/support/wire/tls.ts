import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'

/** The path of a certificate or key made for tests. */
export function tlsFile(name: string): string {
  return fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url))
}

/** A certificate or key made for tests. */
export function tlsText(name: string): string {
  return readFileSync(tlsFile(name), 'utf8')
}

/** Shakes hands with a TLS port of loopback and checks the certificate. */
export async function handshake(port: number): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, ca: tlsText('ca.pem') })
  await once(socket, 'secureConnect')
  return socket
}

/** The common name in the certificate that a TLS port shows to a new client. */
export async function shownBy(port: number): Promise<string> {
  const socket = await handshake(port)
  const name = String(socket.getPeerCertificate().subject.CN)
  socket.destroy()
  return name
}
