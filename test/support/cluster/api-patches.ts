/** A thing as the API server keeps it. */
export type Fields = Readonly<Record<string, unknown>>

/** A JSON merge patch (RFC 7386). */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch
  const result: Record<string, unknown> = isFields(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = mergePatch(result[key], value)
  }
  return result
}

/** As far as webhook configurations need it: lists of things with names are merged by name. */
export function strategicPatch(target: unknown, patch: unknown): unknown {
  if (Array.isArray(patch) && Array.isArray(target)) {
    const merged = [...(target as Fields[])]
    for (const each of patch as Fields[]) {
      const at = merged.findIndex(({ name }) => name === each['name'])
      if (at < 0) merged.push(each)
      else merged[at] = strategicPatch(merged[at], each) as Fields
    }
    return merged
  }
  if (!isFields(patch)) return patch
  const result: Record<string, unknown> = isFields(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = strategicPatch(result[key], value)
  }
  return result
}

/** Returns true if a selector of equalities selects the object. */
export function selects(selector: string | null, thing: Fields): boolean {
  const labels = ((thing['metadata'] as Fields)['labels'] ?? {}) as Fields
  return (selector ?? '')
    .split(',')
    .filter((term) => term !== '')
    .every((term) => {
      const [key = '', value] = term.split('=')
      return value === undefined ? key in labels : labels[key] === value
    })
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
