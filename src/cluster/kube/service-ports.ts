import { type Fields, fieldsOf, listOf, textOf, textsOf } from '../../base/values.ts'
import type { ServicePorts } from '../injector/injection.ts'
import { metadataOf } from './resources.ts'

/** The parts of a Service that say where it leads. */
export function servicePorts(service: Fields): ServicePorts {
  const spec = fieldsOf(service['spec'])
  return {
    name: metadataOf(service).name,
    selector: textsOf(spec['selector']),
    isHeadless: spec['clusterIP'] === 'None',
    ports: listOf(spec['ports']).map((each) => {
      const { port, targetPort } = each
      return {
        name: textOf(each['name']),
        port: typeof port === 'number' ? port : 0,
        targetPort:
          typeof targetPort === 'number' || typeof targetPort === 'string' ? targetPort : undefined,
        protocol: textOf(each['protocol']),
      }
    }),
  }
}
