// Stands for k6/metrics, and for the rest of k6: what is added is kept.
export const added = []

class Metric {
  constructor(name) {
    this.name = name
  }

  add(value, tags = {}) {
    added.push({ metric: this.name, value, ...tags })
  }
}

export { Metric as Counter, Metric as Gauge, Metric as Rate, Metric as Trend }

/** Each check is kept, too. */
export function check(value, checks) {
  const results = Object.entries(checks).map(([name, holds]) => ({
    metric: name,
    value: holds(value),
  }))
  added.push(...results)
  return results.every((each) => each.value)
}
