import { isRecord } from '../../base/values.ts'
import { oneLine } from '../../base/text/foreign-text.ts'
import { injectPod } from '../../cluster/injector/inject-pod.ts'
import type { InjectorSettings } from '../../cluster/injector/injector-settings.ts'
import { parsePod } from '../../cluster/injector/parse-pod.ts'
import { parseInjectorSettings, SettingsError } from '../../cluster/injector/parse-settings.ts'
import type { Pod } from '../../cluster/injector/pod-types.ts'
import { UsageError } from '../flags/usage-error.ts'
import { readVersion } from '../version.ts'
import { changeManifests, readFile } from './change-manifests.ts'
import type { InjectRequest } from '../commands/inject.ts'
import { manifestFacts } from './manifest-facts.ts'
import { ManifestError } from './manifest.ts'
import { type PodPlace } from './pod-places.ts'
import { type Outputs, STANDARD } from './outputs.ts'
import { readFiles, readSettings } from './read-files.ts'

const FAILED = 1

/** Does offline what the webhook does to pods as they are made; the result is the exit code. */
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

/** Says what was done and, unless something was refused, writes the result. */
export async function finish(
  out: Outputs,
  notes: readonly string[],
  text: string | undefined,
): Promise<number> {
  const end = text === undefined ? ['nothing is written, since something was refused'] : []
  await out.tell([...notes, ...end].map((line) => `${line}\n`).join(''))
  if (text === undefined) return FAILED
  await out.write(text)
  return 0
}

/** Turns what is wrong with a manifest into a complaint about what was given. */
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

/** The pod with the annotations of the command line, which go before its own. */
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
