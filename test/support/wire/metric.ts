import { familyIn } from '../../telemetry/exposition.ts'

/** The sum of the series of a metric that have these labels, out of a scraped text. */
export function metricOf(
  text: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const family = familyIn(text, name)
  if (family === undefined) throw new Error(`no metric ${name}`)
  return family.lines
    .filter((line) => Object.entries(labels).every(([key, value]) => line.labels[key] === value))
    .reduce((sum, line) => sum + line.value, 0)
}
