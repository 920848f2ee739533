import { pause } from '../eventually.ts'
import type { RunningSidecar } from './sidecar.ts'

/** The sum of a metric's series that carry all of these labels. */
export function metricValue(
  text: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`)
  let sum = 0
  for (const line of text.split('\n')) {
    if (!line.startsWith(`${name}{`) && !line.startsWith(`${name} `)) continue
    if (wanted.every((label) => line.includes(label)))
      sum += Number(line.slice(line.lastIndexOf(' ') + 1))
  }
  return sum
}

/**
 * Waits until a metric has this value; answers the last value seen. What is counted is counted
 * after the response.
 */
export async function metricBecomes(
  squall: RunningSidecar,
  value: number,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<number> {
  let seen = Number.NaN
  for (let tries = 0; tries < 100; tries++) {
    seen = metricValue(await squall.metrics(), name, labels)
    if (seen === value) break
    await pause(tries)
  }
  return seen
}
