import { oneLine } from '../../base/text/foreign-text.ts'
import { StatusError } from '../../cluster/injector/injection-status.ts'
import { parsePod } from '../../cluster/injector/parse-pod.ts'
import { uninjectPod } from '../../cluster/injector/uninject-pod.ts'
import { changeManifests, readFile } from './change-manifests.ts'
import { checked, finish } from './inject.ts'
import type { UninjectRequest } from '../commands/inject.ts'
import type { PodPlace } from './pod-places.ts'
import { type Outputs, STANDARD } from './outputs.ts'
import { readFiles } from './read-files.ts'

/** Takes back what injection did; the result is the exit code. */
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
