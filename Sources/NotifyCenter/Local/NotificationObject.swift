/// What a notification concerns, so that observers can ask for this alone: a text, a value, or one very instance.
///
/// Texts are equal if their bytes are, values if `==` says so, and instances if they are the same. A center never keeps an
/// instance alive: an observation of one that is gone is never called again, also not if another object comes to live at
/// the same address.
///
/// ```swift
/// let paid = try center.observe("orders.paid", object: "order-17") { print($0.name) }
/// let closed = try center.observe("windows.closed", object: NotificationObject(instance: window)) { print($0.name) }
/// ```
public struct NotificationObject: Sendable {
    let key: ObjectKey
    /// The instance, or what holds the value, or nothing if it is a text. The key tells which: an enumeration would say it
    /// better, but plain fields are copied several times as fast, and every post copies them.
    let reference: (any AnyObject & Sendable)?

    /// An object that is equal to others with the same text.
    public init(_ text: String) {
        key = ObjectKey(text: text)
        reference = nil
    }

    /// An object that is equal to others with an equal value.
    ///
    /// The value's `==` and `hash(into:)` must not use a center or a ``PostQueue``: a center compares the objects of retained
    /// notifications, and a queue those of what waits, under its lock, so that such a use stops the program or waits for
    /// ever. What else the value does, also as it goes, is free to use them.
    public init(value: some Hashable & Sendable) {
        self.init(unsafeValue: value)
    }

    /// An object that is equal to this very instance only.
    public init(instance: some AnyObject & Sendable) {
        self.init(anyInstance: instance)
    }

    package init(anyInstance instance: any AnyObject & Sendable) {
        let address = UInt64(UInt(bitPattern: ObjectIdentifier(instance)))
        key = ObjectKey(.instance, hash: address &* 0x9E37_79B9_7F4A_7C15)
        reference = instance
    }

    /// An object of a value whose type may not be sendable.
    ///
    /// The value is copied and compared on the threads of posters and observers, nothing else: its `==` and its hash must
    /// be fit for that.
    package init(unsafeValue value: some Hashable) {
        key = ObjectKey(.value, hash: UInt64(truncatingIfNeeded: value.hashValue))
        reference = HashableBox(value)
    }

    /// The text, the value or the instance, whatever it is.
    package var anyContent: Any {
        if let box { return box.anyValue }
        if let instance { return instance }
        return key.text
    }

    /// The text, if it is one.
    public var text: String? { key.kind == .text ? key.text : nil }

    /// The instance, if it is one.
    public var instance: (any AnyObject & Sendable)? { key.kind == .instance ? reference : nil }

    /// The value, if it is one of this type.
    public func value<Value: Hashable & Sendable>(as type: Value.Type = Value.self) -> Value? {
        (box as? HashableBox<Value>)?.value
    }

    var box: (any ObjectValue)? { key.kind == .value ? reference as? any ObjectValue : nil }
}

extension NotificationObject: ExpressibleByStringInterpolation {
    /// An object that is equal to others with the same text.
    public init(stringLiteral text: String) {
        self.init(text)
    }
}

extension NotificationObject: Hashable {
    /// Texts are equal if their bytes are, values if `==` says so, instances if they are the same.
    public static func == (left: NotificationObject, right: NotificationObject) -> Bool {
        guard left.key.isSame(as: right.key) else { return false }
        guard let box = left.box, let other = right.box else { return left.reference === right.reference }
        return box.isEqual(to: other)
    }

    /// Feeds the object's hash to the hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(key.hash)
    }
}

extension NotificationObject: CustomStringConvertible {
    /// For people to read.
    public var description: String {
        if let box { return box.description }
        return instance.map { "\(type(of: $0))@\(ObjectIdentifier($0))" } ?? key.text
    }
}

// MARK: - As a key

/// What a center finds an object by. Equal objects have the same key; different values may have the same as well, and so
/// may an instance that lives where another one lived. ``ObjectFilter`` tells those apart. It holds no instance.
struct ObjectKey: Sendable {
    enum Kind: UInt8, Sendable {
        case text
        case value
        case instance
    }

    let hash: UInt64
    /// Empty if it is not a text.
    let text: String
    let kind: Kind

    init(text: String) {
        var text = text
        text.makeContiguousUTF8()
        self.text = text
        hash = text.withUTF8Bytes { KeyedHash.ofProcess($0) }
        kind = .text
    }

    init(_ kind: Kind, hash: UInt64) {
        self.hash = hash
        self.kind = kind
        text = ""
    }

    @inline(__always)
    func isSame(as other: ObjectKey) -> Bool {
        hash == other.hash && kind == other.kind && text.hasSameBytes(as: other.text)
    }

    /// Hands out the bytes that stand for the object in the core. Those of a text begin with no byte that begins the others.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if kind == .text { return text.withUTF8Bytes(body) }
        let mark: UInt64 = kind == .value ? 0xFEFE_FEFE_FEFE_FEFE : 0xFFFF_FFFF_FFFF_FFFF
        var bytes = (mark, hash)
        return withUnsafeBytes(of: &bytes, body)
    }
}

/// What an observer asks for, where the key alone does not tell: it must be this value, or this instance, which may be gone.
enum ObjectFilter: Sendable {
    case value(any ObjectValue)
    case instance(WeakReference)

    /// Nothing for a text, whose key is itself.
    init?(_ object: NotificationObject?) {
        guard let object else { return nil }
        if let box = object.box {
            self = .value(box)
        } else if let instance = object.instance {
            self = .instance(WeakReference(instance))
        } else {
            return nil
        }
    }

    /// Whether the object of a post with the same key is the one that is meant. While the poster holds an instance, the
    /// address is that instance's; the one that is meant is this one if it is still there.
    func accepts(_ object: NotificationObject?) -> Bool {
        switch self {
        case .value(let box): object?.box.map { box.isEqual(to: $0) } ?? false
        case .instance(let reference): object?.instance.map { reference.object === $0 } ?? false
        }
    }

    var isReleased: Bool {
        if case .instance(let reference) = self { reference.object == nil } else { false }
    }
}

extension ObjectFilter: CustomStringConvertible {
    var description: String {
        switch self {
        case .value(let box): box.description
        case .instance(let reference): reference.object.map { "\(type(of: $0))" } ?? "a released instance"
        }
    }
}

/// A reference that does not keep its object.
final class WeakReference: Sendable {
    weak let object: (any AnyObject & Sendable)?

    init(_ object: (any AnyObject & Sendable)?) {
        self.object = object
    }
}

/// A value of any type that can be compared.
protocol ObjectValue: AnyObject, Sendable, CustomStringConvertible {
    var anyValue: Any { get }

    func isEqual(to other: any ObjectValue) -> Bool
}

/// `@unchecked Sendable`: the value never changes, and is only copied and compared, which must be safe on any thread:
/// `init(value:)` requires a `Sendable` value, and `init(unsafeValue:)` states this requirement.
private final class HashableBox<Value: Hashable>: ObjectValue, @unchecked Sendable {
    let value: Value

    var anyValue: Any { value }

    init(_ value: Value) {
        self.value = value
    }

    func isEqual(to other: any ObjectValue) -> Bool {
        (other as? HashableBox<Value>)?.value == value
    }

    var description: String { "\(value)" }
}
