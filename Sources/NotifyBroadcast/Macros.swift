/// Makes a broadcaster for a protocol: a class that conforms to the protocol and hands each call to every receiver that
/// is registered, in order of registration.
///
/// ```swift
/// @Broadcast
/// protocol UserEvents: AnyObject, Sendable {
///     func userDidFollow(_ user: String)
///     @Optional func userDidLeave(_ user: String)
/// }
///
/// let events = UserEventsBroadcaster()
/// events.register(screen)
/// events.register(badge, for: [.userDidFollow])
/// events.userDidFollow("ann")
/// ```
///
/// Beside a protocol `UserEvents` there are then
/// - `UserEventsBroadcaster`, a ``Broadcaster`` with
///   - `register(_:for:)`: registers a receiver for all methods, or for those given. Registering again adds what is new
///     and doubles nothing. The receiver is held weakly and needs no removal;
///   - `unregister(_:for:)`: ends it for all methods, or for those given;
///   - `receiverCount`: how many receivers live;
///   - `shared(in:)`: the one of a center;
/// - `UserEventsMethods`, the set of its methods: one member for each, named like the method. Where methods differ only
///   in their labels, the labels follow (`moved(to:)` is `movedTo`), and where they differ only in types, a number.
///
/// ## Calls
///
/// - A receiver that is registered during a call is not part of it; one that is unregistered before its turn came is
///   left out. No lock is held while receivers run.
/// - `async` methods call one receiver after another.
/// - Methods that throw call all, and then throw a ``BroadcastError`` with what was thrown.
/// - Results need a rule that says how they are combined: see ``CombinationRule`` and ``AnswerCombinationRule``.
/// - `get set` properties and subscripts hand what is set to all, and combine what they get.
///
/// ## Threads
///
/// A broadcaster is what its protocol is: `Sendable`, bound to an actor, or neither, and then it stays where it was
/// made.
///
/// ## What cannot be broadcast
///
/// The protocol has to inherit `AnyObject`, because receivers are weak, and may inherit `Sendable`, but nothing else:
/// what another protocol requires is not seen here. Associated types, `Self`, initializers, static members, variadic or
/// consumed parameters and the like are refused when compiling, each with its reason.
@attached(peer, names: suffixed(Broadcaster), suffixed(Methods))
@attached(extension, names: arbitrary)
public macro Broadcast() = #externalMacro(module: "NotifyMacros", type: "BroadcastMacro")

/// Makes a broadcaster as ``Broadcast()`` does, and a form of its calls that can travel.
///
/// ```swift
/// @Broadcast(codable)
/// protocol OrderEvents: AnyObject, Sendable {
///     func orderCreated(_ number: Int, at shop: String)
///     @Topic("orders.paid") func orderPaid(_ number: Int)
/// }
///
/// let call = OrderEventsCall.orderCreated(42, at: "north")
/// let data = try JSONEncoder().encode(call)
/// // {"name":"orderCreated(_:at:)","arguments":[42,"north"]}
/// events.dispatch(try JSONDecoder().decode(OrderEventsCall.self, from: data))
/// ```
///
/// `OrderEventsCall` is an enumeration with a case for each method, named like the members of the method set, and is
/// `Codable`. Its `name` is the method's with its labels, or what ``Topic(_:)`` says. Decoding a name that the protocol
/// does not know throws a ``BroadcastError`` with the code `unknownCall`, and arguments that do not fit one with the code
/// `wrongArguments`. The broadcaster's `dispatch` hands a call to the receivers.
///
/// Everything a call carries has to be `Codable`; results, `inout`, closures, tuples, generic parameters, properties,
/// subscripts and methods with their own `@available` cannot travel and are refused.
@attached(peer, names: suffixed(Broadcaster), suffixed(Methods), suffixed(Call))
@attached(extension, names: arbitrary)
public macro Broadcast(_ form: BroadcastForm) = #externalMacro(module: "NotifyMacros", type: "BroadcastMacro")

/// What else ``Broadcast(_:)`` makes.
public enum BroadcastForm: Sendable {
    /// A `Codable` form of each call.
    case codable
}

/// For ``Broadcast(_:)``: also make a `Codable` form of each call.
public let codable = BroadcastForm.codable

/// Marks a requirement of a ``Broadcast()`` protocol that receivers need not have: by default it does nothing.
///
/// The default of a method with a result gives what does not change the combined one: an empty array with `.collect`,
/// nil with `.first`, the initial value with `.reduce` (which should therefore be neutral, such as 0 for a sum).
///
/// A class that receives for two protocols that have the same optional method writes it: the defaults of both would fit.
@attached(peer)
public macro Optional() = #externalMacro(module: "NotifyMacros", type: "OptionalMacro")

/// Gives a call of a ``Broadcast(_:)`` protocol the name under which it travels, instead of that of the method.
/// Renaming the method or its labels then breaks nobody.
@attached(peer)
public macro Topic(_ name: StaticString) = #externalMacro(module: "NotifyMacros", type: "TopicMacro")
