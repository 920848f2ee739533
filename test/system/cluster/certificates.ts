import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const CURVE = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
const DAYS = ['-days', '2']

/** Certificates and keys of a cluster, by file. */
export interface Certificates {
  readonly ca: string
  /** A certificate of the CA: `.crt` and `.key` are put behind it. */
  readonly server: string
  readonly admin: string
  readonly tokenKey: string
  readonly tokenPublicKey: string
}

/** Makes them with openssl; servers are known by these addresses. */
export async function makeCertificates(
  directory: string,
  addresses: readonly string[],
): Promise<Certificates> {
  const file = (name: string): string => join(directory, name)
  const openssl = (...args: readonly string[]): Promise<unknown> => run('openssl', args)
  const ca = ['-keyout', file('ca.key'), '-out', file('ca.crt')]
  await openssl('req', '-x509', ...CURVE, ...ca, '-subj', '/CN=cluster-ca', ...DAYS)

  async function servingPair(name: string, subject: string, names: string): Promise<string> {
    const path = file(name)
    const request = ['-keyout', `${path}.key`, '-out', `${path}.csr`, '-subj', subject]
    await openssl('req', ...CURVE, ...request)
    await writeFile(`${path}.ext`, `subjectAltName=${names}\n`)
    const signed = ['-CA', file('ca.crt'), '-CAkey', file('ca.key'), '-CAcreateserial', ...DAYS]
    const place = ['-in', `${path}.csr`, '-out', `${path}.crt`, '-extfile', `${path}.ext`]
    await openssl('x509', '-req', ...place, ...signed)
    return path
  }

  const places = addresses.map((address) => `IP:${address}`)
  const names = [...places, 'DNS:kubernetes.default.svc'].join(',')
  const server = await servingPair('server', '/CN=cluster-server', names)
  const admin = await servingPair('admin', '/O=system:masters/CN=admin', 'DNS:admin')
  await openssl('genrsa', '-out', file('sa.key'), '2048')
  await openssl('rsa', '-in', file('sa.key'), '-pubout', '-out', file('sa.pub'))
  return {
    ca: file('ca.crt'),
    server,
    admin,
    tokenKey: file('sa.key'),
    tokenPublicKey: file('sa.pub'),
  }
}
