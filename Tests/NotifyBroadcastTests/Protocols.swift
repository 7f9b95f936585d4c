public import NotifyBroadcast

@Broadcast protocol UserEvents: AnyObject, Sendable {
    func userDidFollow(_ user: String, at time: Int)
    func userDidLeave()
}

/// Has a method with the same name as a method of `UserEvents`.
@Broadcast protocol ShopEvents: AnyObject, Sendable {
    func userDidLeave()
}

@Broadcast protocol ValueEvents: AnyObject, Sendable {
    func changed(_ value: [String: [Int?]], then body: () -> Void)
}

/// All combination rules, and all kinds of requirements.
@Broadcast protocol Questions: AnyObject, Sendable {
    @Combined(.collect) func titles() -> [String]
    @Combined(.first) func color(of item: Int) -> String?
    @Combined(.first(or: 44)) func height() -> Int
    @Combined(.reduce(true) { $0 && $1 }) func mayClose() -> Bool
    @Combined(.reduce(0, +)) var total: Int { get }
    @Combined(.first(or: 0)) var level: Int { get set }
    @Combined(.first) subscript(row: Int, at column: Int) -> String? { get set }
    @Combined(.collect) func failingTitles() throws -> [String]
    @Combined(.first) func failingColor() throws -> String?
    @Combined(.collect) func slowTitles() async throws -> [String]
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
    @Optional @Combined(.collect) func titles() -> [String]
    @Optional @Combined(.first) var color: String? { get set }
    @Optional @Combined(.reduce(1, *)) func factor() async throws -> Int
    func required()
}

@MainActor @Broadcast protocol ViewEvents: AnyObject {
    func didTap(_ place: Int)
    func didLoad() async
}

/// Isolated to an actor, except for one method.
@MainActor @Broadcast protocol WindowEvents: AnyObject, Sendable {
    func didTap(_ place: Int)
    nonisolated func didClose()
}

/// Not isolated to an actor, except for one method.
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

/// Asynchronous methods, which an actor can receive.
@Broadcast protocol SlowEvents: AnyObject, Sendable {
    func happened(_ number: Int) async
}

/// Keywords, and names that the generated code uses.
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

/// Neither `Sendable` nor isolated to an actor.
@Broadcast protocol LocalEvents: AnyObject {
    func happened() async
}

@Broadcast(codable) protocol OrderEvents: AnyObject, Sendable {
    func orderCreated(_ number: Int, at shop: String)
    @Topic("orders.paid") func orderPaid(_ number: Int?)
    func closed() throws
}

/// A type alias, and a label that occurs twice.
@Broadcast(codable) public protocol PlaceEvents: AnyObject, Sendable {
    typealias Place = [String: Int]
    func moved(to place: Place, to other: Place?)
}
