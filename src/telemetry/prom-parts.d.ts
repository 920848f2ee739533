declare module 'prom-client/lib/registry.js' {
  export { Registry as default } from 'prom-client'
}

declare module 'prom-client/lib/counter.js' {
  export { Counter as default } from 'prom-client'
}

declare module 'prom-client/lib/histogram.js' {
  export { Histogram as default } from 'prom-client'
}

declare module 'prom-client/lib/metrics/*' {
  import type { Registry } from 'prom-client'
  const collect: (registry: Registry) => void
  export default collect
}
