public import NotifyBroadcast

@Broadcast protocol UserEvents: AnyObject, Sendable {
    func userDidFollow(_ user: String, at time: Int)
    func userDidLeave()
}

/// Has a method of the same name as `UserEvents`.
@Broadcast protocol ShopEvents: AnyObject, Sendable {
    func userDidLeave()
}

@Broadcast protocol ValueEvents: AnyObject, Sendable {
    func changed(_ value: [String: [Int?]], then body: () -> Void)
}

/// Each way to combine, and each kind of requirement.
@Broadcast protocol Questions: AnyObject, Sendable {
    @Combine(.collect) func titles() -> [String]
    @Combine(.first) func color(of item: Int) -> String?
    @Combine(.first(or: 44)) func height() -> Int
    @Combine(.reduce(true) { $0 && $1 }) func mayClose() -> Bool
    @Combine(.reduce(0, +)) var total: Int { get }
    @Combine(.first(or: 0)) var level: Int { get set }
    @Combine(.first) subscript(row: Int, at column: Int) -> String? { get set }
    @Combine(.collect) func failingTitles() throws -> [String]
    @Combine(.first) func failingColor() throws -> String?
    @Combine(.collect) func slowTitles() async throws -> [String]
}

/// Parameters of all kinds.
@Broadcast protocol Parameters: AnyObject, Sendable {
    func count(receiver: inout Int, answers: Int)
    func unnamed(_: Int, in: Int)
    func any<Item: Sendable, each Other>(_ item: Item, _ others: repeat each Other) where Item: CustomStringConvertible
    func lazy(_ value: @autoclosure () -> Int, then body: () -> Void)
    func borrowed(_ text: borrowing String)
    func `default`()
    func moved(to place: Int)
    func moved(by distance: Int)
    func moved(by distance: Double)
}

@Broadcast protocol Optionals: AnyObject, Sendable {
    @Optional func didAppear()
    @Optional @Combine(.collect) func titles() -> [String]
    @Optional @Combine(.first) var color: String? { get set }
    @Optional @Combine(.reduce(1, *)) func factor() async throws -> Int
    func required()
}

@MainActor @Broadcast protocol ViewEvents: AnyObject {
    func didTap(_ place: Int)
    func didLoad() async
}

/// Bound to an actor, but for one method.
@MainActor @Broadcast protocol WindowEvents: AnyObject, Sendable {
    func didTap(_ place: Int)
    nonisolated func didClose()
}

/// Bound to no actor, but for one method.
@Broadcast protocol MixedEvents: AnyObject, Sendable {
    func happened()
    @MainActor func showed(_ place: Int)
}

@globalActor actor Press {
    static let shared = Press()
}

@Press @Broadcast(codable) protocol PressEvents: AnyObject {
    func printed(_ pages: Int)
}

/// Actors can receive what is asynchronous.
@Broadcast protocol SlowEvents: AnyObject, Sendable {
    func happened(_ number: Int) async
}

/// Words of the language, and names that the broadcaster's own code uses.
@Broadcast(codable) protocol WordEvents: AnyObject, Sendable {
    func `default`(in: Int, `let`: Int, `inout`: Int, self: Int)
    func `init`(call: Int, name: Int, name_: Int, encoder: Int, decoder: Int)
    func name(receiver: Int, receivers: Int, failures: Int, error: Int) throws
    func encode(to place: Int)
    func generic(_ number: Int!)
}

@Broadcast protocol OldEvents: AnyObject, Sendable {
    @available(*, deprecated) func old()
    @Optional @available(*, deprecated) func older()
    /// Comments are
    func new(
        _ first: Int,  // between
        /* all */ second: [Int  // parts
            ])  // of it
}

/// Neither Sendable nor bound.
@Broadcast protocol LocalEvents: AnyObject {
    func happened() async
}

@Broadcast(codable) protocol OrderEvents: AnyObject, Sendable {
    func orderCreated(_ number: Int, at shop: String)
    @Topic("orders.paid") func orderPaid(_ number: Int?)
    func closed() throws
}

/// A name for a type, and a label that occurs twice.
@Broadcast(codable) public protocol PlaceEvents: AnyObject, Sendable {
    typealias Place = [String: Int]
    func moved(to place: Place, to other: Place?)
}
