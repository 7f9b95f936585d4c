/// Generates a broadcaster for a protocol: a class that conforms to the protocol and forwards each call to every
/// registered receiver, in order of registration.
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
/// For a protocol `UserEvents`, the macro generates
/// - `UserEventsBroadcaster`, a ``Broadcaster`` with
///   - `register(_:for:)`: registers a receiver for the given methods, by default for all. Registering the same
///     receiver again adds methods. The receiver is held weakly and need not be unregistered;
///   - `unregister(_:for:)`: unregisters a receiver from the given methods, by default from all;
///   - `receiverCount`: the number of registered receivers that still exist;
///   - `shared(in:)`: the broadcaster shared by all users of a center;
/// - `UserEventsMethods`, an option set with a member for each method, named like the method. If several methods have
///   the same name, the labels are appended (`moved(to:)` is `movedTo`). If these names are equal as well, a number is
///   appended.
///
/// ## Calls
///
/// - A call skips receivers that are registered after it began or unregistered before it reaches them. No lock is held
///   while receivers run.
/// - `async` methods call one receiver after another.
/// - Methods that throw call the other receivers even if one throws, and then throw a ``BroadcastError`` with all
///   errors. With `.first` and `.first(or:)`, the first result ends the call, and errors are thrown only if no receiver
///   returns a result.
/// - Methods with a result need a rule to combine the results: see ``CombinationRule`` and ``AnswerCombinationRule``.
/// - Setting a `get set` property or subscript sets it in all receivers; getting it combines the values of the
///   receivers.
///
/// ## Threads
///
/// A broadcaster is `Sendable` if its protocol is, and isolated to a global actor if its protocol is. Otherwise it is
/// confined to the isolation domain in which it was created.
///
/// ## What cannot be broadcast
///
/// The protocol must inherit from `AnyObject`, because receivers are held weakly. It may also inherit from `Sendable`,
/// but from no other protocol, because the macro cannot see the requirements of other protocols. Associated types,
/// `Self`, initializers, static members, variadic parameters and consumed parameters are among the members that cause
/// compile-time errors.
@attached(peer, names: suffixed(Broadcaster), suffixed(Methods))
@attached(extension, names: arbitrary)
public macro Broadcast() = #externalMacro(module: "NotifyMacros", type: "BroadcastMacro")

/// Generates a broadcaster as ``Broadcast()`` does, and a `Codable` form of its calls.
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
/// `Codable`. The `name` of a call is the name of the method with its labels, or the name given by ``Topic(_:)``.
/// Decoding throws a ``BroadcastError``: with the code `unknownCall` for a name that is not in the protocol, and with
/// `wrongArguments` for arguments that do not match. The broadcaster's `dispatch` forwards a call to the receivers.
///
/// All parameter types must be `Codable`. Results, `inout` parameters, closures, tuples, metatypes, existential types,
/// generic parameters, properties, subscripts, and methods with their own `@available` cause compile-time errors.
@attached(peer, names: suffixed(Broadcaster), suffixed(Methods), suffixed(Call))
@attached(extension, names: arbitrary)
public macro Broadcast(_ form: BroadcastForm) = #externalMacro(module: "NotifyMacros", type: "BroadcastMacro")

/// An addition to the broadcaster that ``Broadcast(_:)`` generates.
public enum BroadcastForm: Sendable {
    /// A `Codable` form of each call.
    case codable
}

/// The argument of ``Broadcast(_:)`` that adds a `Codable` form of the calls.
public let codable = BroadcastForm.codable

/// Makes a requirement of a ``Broadcast()`` protocol optional for receivers, by generating an empty default
/// implementation.
///
/// The default of a method with a result returns an empty array with `.collect`, nil with `.first`, and the initial
/// value with `.reduce`. So this initial value should be neutral, such as 0 for a sum.
///
/// A class that conforms to two protocols with the same optional method must implement it, because the defaults would
/// be ambiguous.
@attached(peer)
public macro Optional() = #externalMacro(module: "NotifyMacros", type: "OptionalMacro")

/// Sets the encoded name of a call of a ``Broadcast(_:)`` protocol, by default the name of the method with its labels.
/// The method can then be renamed without changing the encoded form.
@attached(peer)
public macro Topic(_ name: StaticString) = #externalMacro(module: "NotifyMacros", type: "TopicMacro")
