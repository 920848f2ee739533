import type { PatchOperation } from '../injector/json-patch.ts'

/** What is done about one pod. */
export interface Decision {
  readonly result: 'injected' | 'untouched' | 'refused' | 'failed'
  /** Whether the pod may be made. */
  readonly allowed: boolean
  /** One word; for pods that were injected, the mode. */
  readonly reason: string
  /** What whoever made the pod is told when it is refused. */
  readonly message: string
  readonly patch: readonly PatchOperation[]
  readonly warnings: readonly string[]
}

/** Warnings are headers on their way: longer ones would be cut or dropped. */
const MAX_WARNING = 240
const MAX_WARNINGS = 16
const MAX_MESSAGE = 2_000

/** The AdmissionReview that a decision is told by. */
export function reviewAnswer(uid: string, decision: Decision): object {
  const { result, allowed, reason, message, patch, warnings } = decision
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid,
      allowed,
      ...(!allowed && {
        status: { code: 403, reason: 'Forbidden', message: oneLine(message, MAX_MESSAGE) },
      }),
      ...(patch.length > 0 && {
        patchType: 'JSONPatch',
        patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
      }),
      ...(warnings.length > 0 && {
        warnings: warnings.slice(0, MAX_WARNINGS).map((text) => oneLine(text, MAX_WARNING)),
      }),
      auditAnnotations: { injection: `${result}: ${reason}` },
    },
  }
}

/** Text without line breaks and other things that would not pass a header or a terminal. */
export function oneLine(text: string, most: number): string {
  const plain = text.replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu, ' ')
  return plain.length > most ? `${plain.slice(0, most - 1)}…` : plain
}
