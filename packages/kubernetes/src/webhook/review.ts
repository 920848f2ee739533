import { type Fields, fieldsOf, isRecord, parsedJson, textOf, textsOf } from '#base'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

/** Returns true when JSON nests deeper than a bound. */
function isDeeperThan(bytes: Uint8Array, most: number): boolean {
  let depth = 0
  let inText = false
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (inText) {
      if (byte === BACKSLASH) i++
      else if (byte === QUOTE) inText = false
    } else if (byte === QUOTE) inText = true
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > most) return true
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--
  }
  return false
}

/** Pods nest about fifteen levels deep, with managed fields a few more. */
const MAX_DEPTH = 100
const MAX_UID = 256

/** Reads an AdmissionReview of version v1. Never throws. */
export function parseReview(bytes: Uint8Array) {
  if (isDeeperThan(bytes, MAX_DEPTH)) {
    return invalid('too_deep', `the review nests deeper than ${MAX_DEPTH} levels`)
  }
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
  const value = parsedJson(text)
  if (value === undefined)
    return invalid('not_json', 'the body is not valid JSON; send an AdmissionReview')
  const { apiVersion, kind, request } = fieldsOf(value)
  if (kind !== 'AdmissionReview' || apiVersion !== 'admission.k8s.io/v1') {
    return invalid(
      'version',
      'the body is not an AdmissionReview of admission.k8s.io/v1; set admissionReviewVersions: ["v1"] in the webhook configuration',
    )
  }
  const fields = fieldsOf(request)
  const uid = textOf(fields['uid'])
  if (uid === undefined || uid.length > MAX_UID) {
    return invalid('no_request', 'the review must contain request.uid')
  }
  return { ok: true as const, review: read(uid, fields) }
}

/** The used parts of an AdmissionReview. */
export type Review = Readonly<ReturnType<typeof read>>

function read(uid: string, request: Fields) {
  const resource = fieldsOf(request['resource'])
  const operation = textOf(request['operation']) ?? 'no operation'
  const below = textOf(request['subResource'])
  const object = isRecord(request['object']) ? request['object'] : undefined
  const metadata = fieldsOf(object?.['metadata'])
  const group = textOf(resource['group']) ?? ''
  const plural = textOf(resource['resource']) ?? 'nothing'
  const whole = `${group === '' ? '' : `${group}/`}${plural}${below === undefined ? '' : `/${below}`}`
  const isPod = group === '' && plural === 'pods' && resource['version'] === 'v1'
  return {
    uid,
    /** True for the creation of a pod; other reviews are allowed. */
    isPodCreation: isPod && below === undefined && operation === 'CREATE',
    /** With its group and subresource: `apps/deployments`, `pods/exec`. */
    resource: whole,
    operation,
    /** The subject, for messages: `UPDATE of deployments`. */
    about: `${operation} of ${whole}`,
    // A pod of a controller has neither a namespace nor a name yet.
    namespace: textOf(request['namespace']) ?? textOf(metadata['namespace']) ?? '',
    /** Its name, or the prefix of its generated name. */
    podName:
      textOf(metadata['name']) ?? textOf(request['name']) ?? textOf(metadata['generateName']) ?? '',
    dryRun: request['dryRun'] === true,
    /** The object; undefined where the review holds none. */
    object,
    oldObject: isRecord(request['oldObject']) ? request['oldObject'] : undefined,
    annotations: textsOf(metadata['annotations']),
    labels: textsOf(metadata['labels']),
    /** The kind of the controller of the pod, or `Pod`. */
    owner: ownerOf(metadata['ownerReferences']),
  }
}

/** Returns the controller of the pod, or `Pod`. */
function ownerOf(references: unknown): string {
  if (!Array.isArray(references)) return 'Pod'
  const controller = references.map(fieldsOf).find((each) => each['controller'] === true)
  return textOf(controller?.['kind']) ?? 'Pod'
}

function invalid(reason: string, message: string) {
  return { ok: false as const, reason, message }
}
