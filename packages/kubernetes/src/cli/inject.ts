import { fieldsOf, isRecord, oneLine, quoted, textOf, textsOf } from '#base'
import { StatusError } from '../injector/injection-status.ts'
import type { Injection } from '../injector/injection.ts'
import { injectPod } from '../injector/inject-pod.ts'
import { parsePod } from '../injector/pod.ts'
import { uninjectPod } from '../injector/uninject-pod.ts'
import { changeManifests, type ManifestFormat } from '../manifests/change-manifests.ts'
import { manifestFacts } from '../manifests/manifest-facts.ts'
import { type ManifestDocument, ManifestError, readManifest } from '../manifests/manifest.ts'
import { type KubeObject, podOf, type PodTemplate } from '../manifests/pod-templates.ts'
import { invalidFile, print, readText } from '#cli'
import { readInjectorSettings } from './injector-settings.ts'
import type { InjectRequest } from '../commands/inject.ts'

/** Injects the sidecar into manifests as the webhook does into pods; returns the exit code. */
export async function injectCommand(
  request: InjectRequest,
  out: Outputs = STANDARD,
): Promise<number> {
  const settings = await readInjectorSettings(request.settings, request.image)
  const documents = await readManifests(request.filename)
  if (request.undo) return removeSidecars(documents, request.format, settings.prefix, out)
  const objects = documents.flatMap((document) => document.objects)
  const facts = manifestFacts(
    objects,
    { labels: request.namespaceLabel, annotations: request.namespaceAnnotation },
    request.namespace,
  )
  const notes = withoutPods(objects, settings.prefix)
  const inject = (template: PodTemplate, injectedServices?: ReadonlySet<string>): Injection => {
    const namespace = template.namespace ?? request.namespace
    const parsed = parsePod(withAnnotations(template, request.annotation, settings.prefix))
    if (!parsed.ok) return { kind: 'denied', reason: 'invalid_pod', message: parsed.message }
    return injectPod(parsed.pod, {
      namespace: facts.namespace(namespace),
      services: facts.services(namespace),
      injectedServices,
      minor: request.kubernetesVersion,
      settings,
      owner: template.owner,
      workload: template.workload,
    })
  }
  const pods = objects
    .flatMap((each) => podOf(each) ?? [])
    .map((template) => ({
      namespace: template.namespace ?? request.namespace,
      labels: textsOf(fieldsOf(fieldsOf(template.value)['metadata'])['labels']),
      isInjected: inject(template).kind === 'injected',
    }))
  const injectedServices = facts.injectedServices(pods)
  return changePods(documents, request.format, out, notes, (template, note) => {
    const injection = inject(template, injectedServices)
    if (injection.kind !== 'injected') {
      const reason = `(${injection.reason}): ${injection.message}`
      if (injection.kind === 'denied') return reason
      note(`unchanged ${reason}`)
      return template.value
    }
    note(`injected, mode ${injection.mode} (${injection.why})`)
    for (const warning of injection.warnings) note(`warning: ${warning}`)
    return injection.pod
  })
}

/** Returns the notes about objects that ask for a sidecar, and whose pods are not known. */
function withoutPods(objects: readonly KubeObject[], prefix: string): string[] {
  const others = objects.filter((each) => podOf(each) === undefined)
  const asking = others.filter(
    ({ kind, value }) =>
      kind !== 'Namespace' &&
      JSON.stringify(value).includes(`${JSON.stringify(`${prefix}inject`)}:`),
  )
  const notes = asking.map(({ kind, name, value }) => {
    const type = `${kind} of ${textOf(value['apiVersion']) ?? '?'}`
    const why = `the pod template of ${type} is unknown; the webhook injects into its pods`
    return oneLine(`${kind.toLowerCase()}/${name}: unchanged (unknown_kind): ${why}`)
  })
  return others.length < objects.length ? notes : [...notes, 'no pod templates found']
}

/** Removes the sidecar from manifests; returns the exit code. */
function removeSidecars(
  documents: readonly ManifestDocument[],
  format: ManifestFormat,
  prefix: string,
  out: Outputs,
): Promise<number> {
  return changePods(documents, format, out, [], (template, note) => {
    const parsed = parsePod(template.value)
    if (!parsed.ok) return `(invalid_pod): ${parsed.message}`
    try {
      const { pod } = uninjectPod(parsed.pod, prefix)
      note(pod === parsed.pod ? 'unchanged: nothing was injected' : 'unchanged')
      return pod
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      return `(invalid_status): ${error.message}`
    }
  })
}

/**
 * Writes the notes about each pod and, unless a pod was denied, the changed manifests; returns the
 * exit code. `change` returns the pod, or the reason to deny it.
 */
async function changePods(
  documents: readonly ManifestDocument[],
  format: ManifestFormat,
  out: Outputs,
  notes: string[],
  change: (template: PodTemplate, note: (line: string) => void) => unknown,
): Promise<number> {
  let isDenied = false
  const text = changeManifests(
    documents,
    (template) => {
      const note = (line: string): void => void notes.push(oneLine(`${template.label}: ${line}`))
      const changed = change(template, note)
      if (typeof changed !== 'string') return changed
      isDenied = true
      note(`denied ${changed}`)
      return template.value
    },
    format,
    ({ kind, name }) => {
      const why = 'its anchors are shared with a part that changes'
      notes.push(oneLine(`${kind.toLowerCase()}/${name}: its comments are lost, because ${why}`))
    },
  )
  if (isDenied) notes.push('nothing was written, because pods were denied')
  await out.note(notes.map((line) => `${line}\n`).join(''))
  if (isDenied) return 1
  await out.write(text)
  return 0
}

/**
 * Returns the pod with the annotations of the command line, which replace those of the manifest.
 */
function withAnnotations(
  { value }: PodTemplate,
  given: Readonly<Record<string, string>>,
  prefix: string,
): unknown {
  const entries = Object.entries(given)
  if (entries.length === 0 || !isRecord(value)) return value
  const metadata = isRecord(value['metadata']) ? value['metadata'] : {}
  const annotations = isRecord(metadata['annotations']) ? metadata['annotations'] : {}
  const added = entries.map(([key, text]) => [key.includes('/') ? key : `${prefix}${key}`, text])
  return {
    ...value,
    metadata: { ...metadata, annotations: { ...annotations, ...Object.fromEntries(added) } },
  }
}

/** Takes the result and the notes about it. */
interface Outputs {
  /** Resolves when the text is written: the process ends soon after, and a pipe may be slow. */
  readonly write: (text: string) => Promise<void>
  readonly note: (text: string) => Promise<void>
}

const STANDARD: Outputs = {
  write: print,
  note: (text) =>
    new Promise((resolve) => {
      // Notes that nobody can read must not keep the manifests back.
      process.stderr.once('error', () => resolve()).write(text, () => resolve())
    }),
}

const MAX_MANIFEST = 16 * 2 ** 20

async function readManifests(paths: readonly string[]): Promise<readonly ManifestDocument[]> {
  const documents: ManifestDocument[] = []
  for (const path of paths) {
    const text = await readText(path, MAX_MANIFEST, quoted(path))
    try {
      documents.push(...readManifest(text, path === '-' ? 'standard input' : path))
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error
      throw invalidFile(error.message, 'fix the manifest')
    }
  }
  return documents
}
