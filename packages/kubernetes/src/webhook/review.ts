import { type Fields, fieldsOf, isRecord, parsedJson, textOf, textsOf } from '#base'

/** Returns true when JSON nests deeper than a bound. */
function isDeeperThan(text: string, most: number): boolean {
  let depth = 0
  let isQuoted = false
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (isQuoted && char === '\\') i++
    else if (char === '"') isQuoted = !isQuoted
    else if (isQuoted) continue
    else if ((char === '{' || char === '[') && ++depth > most) return true
    else if (char === '}' || char === ']') depth--
  }
  return false
}

/** Pods nest about fifteen levels deep, with managed fields a few more. */
const MAX_DEPTH = 100
const MAX_UID = 256

/** Reads an AdmissionReview of version v1. Never throws. */
export function parseReview(bytes: Uint8Array) {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
  if (isDeeperThan(text, MAX_DEPTH)) {
    return invalid('too_deep', `the review nests deeper than ${MAX_DEPTH} levels`)
  }
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
