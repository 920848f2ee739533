import { oneLine } from '#base'
import type { PatchOperation } from '../injector/json-patch.ts'

/** The subject of a review. */
export type Subject = 'injection' | 'rules' | 'anchor' | 'workload'

/** The decision about one review. */
export interface Decision {
  readonly result: 'injected' | 'untouched' | 'denied' | 'failed' | 'accepted'
  readonly allowed: boolean
  /** One word; for injected pods, the mode. */
  readonly reason: string
  /** The message for the user when the pod is denied. */
  readonly message: string
  /** Further lines of the message. */
  readonly lines?: readonly string[]
  readonly patch: readonly PatchOperation[]
  readonly warnings: readonly string[]
}

/** Warnings are sent as headers: longer ones would be cut or dropped. */
const MAX_WARNING = 240
const MAX_WARNINGS = 16
const MAX_MESSAGE = 2_000
const MAX_LINE = 400

/** Returns the AdmissionReview of a decision. */
export function reviewResponse(uid: string, decision: Decision, subject: Subject): object {
  const { result, allowed, reason, patch, warnings } = decision
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid,
      allowed,
      ...(!allowed && {
        status: { code: 403, reason: 'Forbidden', message: wholeMessage(decision) },
      }),
      ...(patch.length > 0 && {
        patchType: 'JSONPatch',
        patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
      }),
      ...(warnings.length > 0 && {
        warnings: warnings.slice(0, MAX_WARNINGS).map((text) => oneLine(text, MAX_WARNING)),
      }),
      auditAnnotations: { [subject]: `${result}: ${reason}` },
    },
  }
}

/** Returns the message with as many further lines as fit. */
function wholeMessage({ message, lines = [] }: Decision): string {
  let text = oneLine(message, MAX_MESSAGE)
  for (const [i, line] of lines.entries()) {
    const next = `${text}\n${oneLine(line, MAX_LINE)}`
    if (next.length > MAX_MESSAGE) return `${text}\n… and ${lines.length - i} more`
    text = next
  }
  return text
}
