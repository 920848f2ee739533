import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'
import { addressBytes } from '../kube/address-bytes.ts'

const BOOLEAN = 0x01
const INTEGER = 0x02
const BIT_STRING = 0x03
const OCTET_STRING = 0x04
const OBJECT_IDENTIFIER = 0x06
const UTF8_STRING = 0x0c
const UTC_TIME = 0x17
const GENERALIZED_TIME = 0x18
const SEQUENCE = 0x30
const SET = 0x31
const CONTEXT = 0x80
const CONSTRUCTED = 0x20

/** Encodes one value in DER: tag, length, contents. */
function derValue(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents)
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body])
}

function derSequence(...members: readonly Uint8Array[]): Buffer {
  return derValue(SEQUENCE, ...members)
}

/** Encodes a number that is not negative, from its bytes. */
export function derInteger(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0)
  const short = first < 0 ? Buffer.from([0]) : Buffer.from(bytes.subarray(first))
  // A leading bit of 1 would make it negative.
  const padding = (short[0] ?? 0) >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0)
  return derValue(INTEGER, padding, short)
}

/** Encodes bits without the last `unused` ones. */
function derBits(bytes: Uint8Array, unused = 0): Buffer {
  return derValue(BIT_STRING, Buffer.from([unused]), bytes)
}

function derOctets(bytes: Uint8Array): Buffer {
  return derValue(OCTET_STRING, bytes)
}

/** Encodes an object identifier such as `2.5.4.3`. */
export function derObject(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = [40 * first + second, ...rest].flatMap(base128)
  return derValue(OBJECT_IDENTIFIER, Buffer.from(bytes))
}

/** Encodes a time in seconds: in the short form up to 2049, as certificates require. */
export function derTime(time: Date): Buffer {
  const digits = time
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replace(/[-:T]/g, '')
  if (time.getUTCFullYear() < 2050) return derValue(UTC_TIME, Buffer.from(digits.slice(2)))
  return derValue(GENERALIZED_TIME, Buffer.from(digits))
}

/** Encodes a context-specific value around other values, or around bytes. */
function derTagged(
  number: number,
  kind: 'values' | 'bytes',
  ...contents: readonly Uint8Array[]
): Buffer {
  return derValue(CONTEXT | (kind === 'values' ? CONSTRUCTED : 0) | number, ...contents)
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  const bytes: number[] = []
  for (let left = length; left > 0; left = Math.floor(left / 256)) bytes.unshift(left % 256)
  return Buffer.from([0x80 | bytes.length, ...bytes])
}

function base128(number: number): number[] {
  const bytes = [number % 128]
  for (let left = Math.floor(number / 128); left > 0; left = Math.floor(left / 128)) {
    bytes.unshift(0x80 | (left % 128))
  }
  return bytes
}

/** A certificate and its key as PEM. */
export interface CertificatePair {
  readonly cert: string
  readonly key: string
}

interface Validity {
  readonly from: Date
  readonly until: Date
}

/** A CA that issues certificates. */
export interface Issuer extends CertificatePair {
  readonly name: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/** False is a default that callers omit. */
const TRUE = derValue(BOOLEAN, Buffer.from([0xff]))
const ECDSA_WITH_SHA256 = derSequence(derObject('1.2.840.10045.4.3.2'))
const COMMON_NAME = '2.5.4.3'
const BASIC_CONSTRAINTS = '2.5.29.19'
const KEY_USAGE = '2.5.29.15'
const EXTENDED_KEY_USAGE = '2.5.29.37'
const SUBJECT_KEY = '2.5.29.14'
const CA_KEY_IDENTIFIER = '2.5.29.35'
const ALTERNATIVE_NAMES = '2.5.29.17'
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'
const MAX_COMMON_NAME = 64

/** The usage of a CA: signs certificates and revocation lists. */
const CA_USAGE = derBits(Buffer.from([0b0000_0110]), 1)
/** The usage of a server: signs handshakes. */
const SERVER_USAGE = derBits(Buffer.from([0b1000_0000]), 7)

/** Creates a self-signed CA. */
export function createCa(name: string, validity: Validity): Issuer {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const id = keyId(publicKey)
  const cert = certificate(name, validity, publicKey, { name, privateKey }, [
    extension(BASIC_CONSTRAINTS, 'critical', derSequence(TRUE, derInteger(Buffer.from([0])))),
    extension(KEY_USAGE, 'critical', CA_USAGE),
    extension(SUBJECT_KEY, 'optional', derOctets(id)),
  ])
  return { name, privateKey, publicKey, cert, key: pemOfKey(privateKey) }
}

/** Issues a serving certificate for names and addresses. */
export function issueServer(
  issuer: Issuer,
  hosts: readonly [string, ...string[]],
  validity: Validity,
): CertificatePair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const subject = hosts[0].slice(0, MAX_COMMON_NAME)
  const cert = certificate(subject, validity, publicKey, issuer, [
    extension(BASIC_CONSTRAINTS, 'critical', derSequence()),
    extension(KEY_USAGE, 'critical', SERVER_USAGE),
    extension(EXTENDED_KEY_USAGE, 'optional', derSequence(derObject(SERVER_AUTH))),
    extension(SUBJECT_KEY, 'optional', derOctets(keyId(publicKey))),
    extension(
      CA_KEY_IDENTIFIER,
      'optional',
      derSequence(derTagged(0, 'bytes', keyId(issuer.publicKey))),
    ),
    extension(ALTERNATIVE_NAMES, 'optional', derSequence(...hosts.map(alternativeName))),
  ])
  return { cert, key: pemOfKey(privateKey) }
}

function certificate(
  subject: string,
  validity: Validity,
  publicKey: KeyObject,
  issuer: Pick<Issuer, 'name' | 'privateKey'>,
  extensions: readonly Buffer[],
): string {
  const version3 = derTagged(0, 'values', derInteger(Buffer.from([2])))
  const contents = derSequence(
    version3,
    derInteger(randomBytes(16)),
    ECDSA_WITH_SHA256,
    commonName(issuer.name),
    derSequence(derTime(validity.from), derTime(validity.until)),
    commonName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    derTagged(3, 'values', derSequence(...extensions)),
  )
  const signature = sign('sha256', contents, issuer.privateKey)
  return pem('CERTIFICATE', derSequence(contents, ECDSA_WITH_SHA256, derBits(signature)))
}

function commonName(name: string): Buffer {
  const text = derValue(UTF8_STRING, Buffer.from(name, 'utf8'))
  // A set of one member: larger ones would have to be sorted.
  return derSequence(derValue(SET, derSequence(derObject(COMMON_NAME), text)))
}

function extension(id: string, weight: 'critical' | 'optional', value: Buffer): Buffer {
  const critical = weight === 'critical' ? [TRUE] : []
  return derSequence(derObject(id), ...critical, derOctets(value))
}

function alternativeName(host: string): Buffer {
  if (isIP(host) === 0) return derTagged(2, 'bytes', Buffer.from(host, 'latin1'))
  return derTagged(7, 'bytes', Buffer.from(addressBytes(host)))
}

/** Returns the key identifier, which links a certificate to the key that signed it. */
function keyId(key: KeyObject): Buffer {
  return createHash('sha1')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest()
}

function pemOfKey(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
