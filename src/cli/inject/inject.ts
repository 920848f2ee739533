import { isRecord } from '../../base/values.ts'
import { oneLine, quoted } from '../../base/text/foreign-text.ts'
import { injectPod } from '../../cluster/injector/inject-pod.ts'
import type { InjectorSettings } from '../../cluster/injector/injector-settings.ts'
import { parsePod } from '../../cluster/injector/parse-pod.ts'
import { parseInjectorSettings, SettingsError } from '../../cluster/injector/parse-settings.ts'
import type { Pod } from '../../cluster/injector/pod-types.ts'
import { UsageError } from '../flags/usage-error.ts'
import { readVersion } from '../version.ts'
import {
  changeManifests,
  readFile,
  type ManifestText,
} from '../../cluster/manifests/change-manifests.ts'
import type { InjectRequest, UninjectRequest } from '../commands/inject.ts'
import { manifestFacts } from '../../cluster/manifests/manifest-facts.ts'
import { ManifestError } from '../../cluster/manifests/manifest.ts'
import type { PodPlace } from '../../cluster/manifests/pod-places.ts'
import { StatusError } from '../../cluster/injector/injection-status.ts'
import { uninjectPod } from '../../cluster/injector/uninject-pod.ts'
import { parse } from 'yaml'
import { assertShallow } from '../../base/yaml/yaml-depth.ts'
import { readBounded } from '../../base/read-bounded.ts'

const FAILED = 1

/** Injects the sidecar into manifests as the webhook does into pods; returns the exit code. */
export async function injectCommand(
  request: InjectRequest,
  out: Outputs = STANDARD,
): Promise<number> {
  const settings = await settingsOf(request)
  const files = (await readFiles(request.files)).map(checked(readFile))
  const facts = manifestFacts(
    files.flatMap(({ documents }) => documents.flatMap(({ objects }) => objects)),
    { labels: request.namespaceLabels, annotations: request.namespaceAnnotations },
    request.namespace,
  )
  const count = { injected: 0, untouched: 0, refused: 0 }
  const notes: string[] = []
  const text = changeManifests(
    files,
    (place) => {
      const namespace = place.namespace ?? request.namespace
      const say = (line: string): void => void notes.push(oneLine(`${place.label}: ${line}`))
      const asked = withAnnotations(place, request.annotations, settings.prefix)
      const parsed = parsePod(asked)
      if (!parsed.ok) {
        count.refused++
        say(`refused (bad_pod): ${parsed.message}`)
        return place.value
      }
      const injection = injectPod(parsed.pod, {
        namespace: facts.namespace(namespace),
        services: facts.services(namespace),
        cluster: request.minor === undefined ? undefined : { minor: request.minor },
        settings,
        owner: place.owner,
        workload: place.workload,
      })
      count[injection.kind]++
      if (injection.kind !== 'injected') {
        say(
          `${injection.kind === 'refused' ? 'refused' : 'left as it is'} (${injection.reason}): ${injection.message}`,
        )
        return place.value
      }
      say(`injected, mode ${injection.mode} (${injection.why})`)
      for (const warning of injection.warnings) say(`warning: ${warning}`)
      return injection.pod
    },
    request.format,
  )
  if (count.injected + count.untouched + count.refused === 0) {
    notes.push('nothing here makes pods')
  }
  return finish(out, notes, count.refused > 0 ? undefined : text)
}

/** Writes the notes and, unless a pod was refused, the result. */
export async function finish(
  out: Outputs,
  notes: readonly string[],
  text: string | undefined,
): Promise<number> {
  const end = text === undefined ? ['nothing is written, since something was refused'] : []
  await out.note([...notes, ...end].map((line) => `${line}\n`).join(''))
  if (text === undefined) return FAILED
  await out.write(text)
  return 0
}

/** Turns a `ManifestError` into a `UsageError`. */
export function checked<In, Out>(read: (input: In) => Out): (input: In) => Out {
  return (input) => {
    try {
      return read(input)
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error
      throw new UsageError('BAD_FILE', error.message, 'fix the manifest')
    }
  }
}

async function settingsOf({ settingsFile, image }: InjectRequest): Promise<InjectorSettings> {
  const given = settingsFile === undefined ? {} : ((await readSettings(settingsFile)) ?? {})
  try {
    const all = image === undefined ? given : { ...given, image }
    return parseInjectorSettings(all, readVersion())
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    throw new UsageError('BAD_VALUE', `settings: ${error.message}`, 'see docs/injection.md')
  }
}

/** Returns the pod with the annotations of the command line, which replace those of the manifest. */
function withAnnotations(
  { value }: PodPlace,
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
  } satisfies Pod | Record<string, unknown>
}

/** Removes the sidecar from manifests; returns the exit code. */
export async function uninjectCommand(
  request: UninjectRequest,
  out: Outputs = STANDARD,
): Promise<number> {
  const files = (await readFiles(request.files)).map(checked(readFile))
  const notes: string[] = []
  let failed = 0
  const uninject = (place: PodPlace): unknown => {
    const say = (line: string): void => void notes.push(oneLine(`${place.label}: ${line}`))
    const parsed = parsePod(place.value)
    if (!parsed.ok) {
      failed++
      say(`refused (bad_pod): ${parsed.message}`)
      return place.value
    }
    try {
      const pod = uninjectPod(parsed.pod, request.prefix)
      say(pod === parsed.pod ? 'left as it is: nothing was injected' : 'as it was before')
      return pod
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      failed++
      say(`refused (bad_status): ${error.message}`)
      return place.value
    }
  }
  const text = changeManifests(files, uninject, request.format)
  return finish(out, notes, failed > 0 ? undefined : text)
}

/** Takes the result and the notes about it. */
export interface Outputs {
  /** Resolves when the text is written: the process ends soon after, and a pipe may be slow. */
  readonly write: (text: string) => Promise<void>
  readonly note: (text: string) => Promise<void>
}

/** The outputs of the process. */
export const STANDARD: Outputs = {
  write: (text) => written(process.stdout, text),
  note: (text) => written(process.stderr, text),
}

function written(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => {
      // The reader closed the pipe, as `head` does.
      if (error.code === 'EPIPE') resolve()
      else reject(error)
    }
    stream.once('error', failed)
    stream.write(text, (error) => {
      if (error === null || error === undefined) resolve()
      else failed(error)
    })
  })
}

const MOST_BYTES = 16 * 2 ** 20
const MOST_SETTINGS = 2 ** 20

/** Reads manifests, `-` being standard input. Throws `UsageError`. */
export async function readFiles(files: readonly string[]): Promise<readonly ManifestText[]> {
  const texts: ManifestText[] = []
  for (const file of files) {
    texts.push({
      file: file === '-' ? 'standard input' : file,
      text: await readText(file, MOST_BYTES),
    })
  }
  return texts
}

/** Returns the content of a settings file. Throws `UsageError`. */
export async function readSettings(file: string): Promise<unknown> {
  const text = await readText(file, MOST_SETTINGS)
  try {
    assertShallow(text)
    return parse(text)
  } catch (error) {
    throw new UsageError('BAD_FILE', `${quoted(file)}: ${reasonOf(error)}`, 'fix it')
  }
}

async function readText(file: string, most: number): Promise<string> {
  let bytes: Uint8Array
  try {
    bytes = await readBounded(file, most)
  } catch (error) {
    const wrong = `${quoted(file)} cannot be read: ${reasonOf(error)}`
    throw new UsageError('BAD_FILE', wrong, 'name a file that is there')
  }
  if (bytes.length > most) {
    const wrong = `${quoted(file)} is larger than ${most / 2 ** 20} MiB`
    throw new UsageError('BAD_FILE', wrong, 'split it')
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new UsageError('BAD_FILE', `${quoted(file)} is not UTF-8`, 'write it as UTF-8')
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
