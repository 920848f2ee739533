import type { AnnotationTable } from './annotation-spec.ts'
import { cpu, memory, memoryRequest, oneOf } from './value-checks.ts'

/** The annotations about CPU and memory of the sidecar. */
export const RESOURCE_ANNOTATIONS = {
  qos: {
    form: '`guaranteed`, `burstable`',
    fallback: '`guaranteed` where all containers of the pod are, else `burstable`',
    meaning: 'whether requests of the sidecar equal its limits, which keeps the pod Guaranteed',
    check: oneOf('guaranteed', 'burstable'),
  },
  'cpu-request': {
    form: 'a quantity',
    fallback: '`10m`',
    meaning: 'CPU request of the sidecar',
    check: cpu,
  },
  'cpu-limit': {
    form: 'a quantity',
    fallback: '`1`',
    meaning: 'CPU limit of the sidecar',
    check: cpu,
  },
  'memory-request': {
    form: 'a quantity',
    fallback: '`32Mi`',
    meaning: 'memory request of the sidecar',
    check: memoryRequest,
  },
  'memory-limit': {
    form: 'a quantity',
    fallback: '`256Mi`',
    meaning: 'memory limit of the sidecar, which also bounds the heap of Node',
    check: memory,
  },
} as const satisfies AnnotationTable
