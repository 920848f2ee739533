import { type Command, defineCommand } from '#cli'

type Flags = Parameters<typeof defineCommand>[0]['flags']
type Spec<Of extends Flags, Request> = Parameters<typeof defineCommand<Of, Request>>[0]
type Operation<Of extends Flags, Request> = Omit<Spec<Of, Request>, 'start'>

/**
 * Declares a command without what runs it, so that what runs it takes the type of its request from
 * here.
 */
export function operation<Of extends Flags, Request>(
  spec: Operation<Of, Request>,
): Operation<Of, Request> {
  return spec
}

/** The request of an operation. */
export type RequestOf<Of extends { parse: (...all: never) => unknown }> = ReturnType<Of['parse']>

/** Returns the command of an operation, whose module is loaded when it runs. */
export function command<Of extends Flags, Request, Name extends string>(
  spec: Operation<Of, Request>,
  load: () => Promise<Readonly<Record<Name, (request: Request) => number | Promise<number>>>>,
  name: Name,
): Command {
  return defineCommand({ ...spec, start: async (request) => (await load())[name](request) })
}
