import { section } from '../../filters/lib/config-schema.ts'
import { CIDR_FORMAT } from './formats.ts'
import { oneOrMore, texts } from './match-nodes.ts'
import * as Type from 'typebox'

/** The conditions on the destination of outgoing traffic. */
export const outboundKeys = section(
  {
    host: Type.Optional(
      texts('Matches the host of the destination, as in `--outbound` or `--captured`.', 'db'),
    ),
    port: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 65_535,
        description: 'Matches the port of the destination.',
        examples: [5432],
      }),
    ),
    sni: Type.Optional(
      texts(
        'Matches the server name in the TLS handshake of a connection. Only with the fault `connection`.',
        '*.example.com',
      ),
    ),
    cidr: Type.Optional(
      oneOrMore<string>(
        { type: 'string', format: CIDR_FORMAT, maxLength: 49 },
        {
          description:
            'Matches destination addresses in this range. Only with the fault `connection`.',
          examples: ['10.0.0.0/8'],
        },
      ),
    ),
  },
  {
    minProperties: 1,
    description:
      'Matches outgoing traffic of the pod to a dependency: TCP connections with the fault `connection`, else calls, together with keys such as `tool`.',
  },
)
