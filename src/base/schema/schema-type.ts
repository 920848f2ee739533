import type {
  TArray,
  TBoolean,
  TInteger,
  TNumber,
  TObject,
  TOptional,
  TProperties,
  TRecord,
  TSchema,
  TString,
  TUnknown,
  TUnsafe,
} from 'typebox'

/** The keywords of a schema node besides its type. */
type Options = Readonly<Record<string, unknown>>

/** Keys of an object that may be left out are marked so; neither JSON nor a copy shows it. */
const OPTIONAL = Symbol('optional')
const ANY_KEY = '^.*$'

/**
 * Makes the nodes of a schema: JSON Schema as plain objects, with typebox's types. Its own builders make
 * the same and load hundreds of files, for which every start would wait.
 */
export const Type = {
  Array: <Item extends TSchema>(items: Item, options?: Options): TArray<Item> =>
    plain({ type: 'array', items, ...options }) as TArray<Item>,
  Boolean: (options?: Options): TBoolean => plain({ type: 'boolean', ...options }) as TBoolean,
  Integer: (options?: Options): TInteger => plain({ type: 'integer', ...options }) as TInteger,
  Number: (options?: Options): TNumber => plain({ type: 'number', ...options }) as TNumber,
  Object: <Properties extends TProperties>(
    properties: Properties,
    options?: Options,
  ): TObject<Properties> => {
    const required = Object.keys(properties).filter((key) => !(OPTIONAL in properties[key]!))
    const written = required.length === 0 ? {} : { required }
    return plain({ type: 'object', ...written, properties, ...options }) as TObject<Properties>
  },
  Optional: <Schema extends TSchema>(schema: Schema): TOptional<Schema> =>
    Object.defineProperty({ ...schema }, OPTIONAL, { value: true }) as TOptional<Schema>,
  Record: <Value extends TSchema>(
    _key: TString,
    value: Value,
    options?: Options,
  ): TRecord<typeof ANY_KEY, Value> =>
    plain({ type: 'object', patternProperties: { [ANY_KEY]: value }, ...options }) as TRecord<
      typeof ANY_KEY,
      Value
    >,
  String: (options?: Options): TString => plain({ type: 'string', ...options }) as TString,
  Unknown: (options?: Options): TUnknown => plain({ ...options }) as TUnknown,
  Unsafe: <Value>(schema: object): TUnsafe<Value> => plain({ ...schema }) as TUnsafe<Value>,
}

/** Typebox tells its nodes apart by marks that only its own code looks at: its types alone ask for them. */
function plain(node: object): unknown {
  return node
}
