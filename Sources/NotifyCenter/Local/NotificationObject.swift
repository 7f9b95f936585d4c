/// The object that a notification concerns: a text, a value, or an instance. Observers may register for one object.
///
/// Texts are equal if their bytes are equal, values if `==` returns true, and instances if they are identical. An
/// observation does not keep its instance alive. The observer of a released instance is never called again, even if a
/// new instance is allocated at the same address.
///
/// ```swift
/// let paid = try center.observe("orders.paid", object: "order-17") { print($0.name) }
/// let closed = try center.observe("windows.closed", object: NotificationObject(instance: window)) { print($0.name) }
/// ```
public struct NotificationObject: Sendable {
    let key: ObjectKey
    /// The instance, or the box of the value, according to the kind of `key`; nil for a text. Not an enumeration: every
    /// post copies an object, and copying an enumeration takes several times as long as copying plain fields.
    let reference: (any AnyObject & Sendable)?

    /// Creates an object that is equal to objects with the same text.
    public init(_ text: String) {
        key = ObjectKey(text: text)
        reference = nil
    }

    /// Creates an object that is equal to objects with an equal value.
    ///
    /// The value's `==` and `hash(into:)` must not use a center or a ``PostQueue``. A center compares the objects of
    /// retained notifications under its lock, and a queue compares those of pending notifications under its own lock,
    /// so such a use traps or deadlocks. Other code of the value, such as a deinitializer, may use centers and queues.
    public init(value: some Hashable & Sendable) {
        self.init(unsafeValue: value)
    }

    /// Creates an object that is equal only to objects of the same instance.
    public init(instance: some AnyObject & Sendable) {
        self.init(anyInstance: instance)
    }

    package init(anyInstance instance: any AnyObject & Sendable) {
        let address = UInt64(UInt(bitPattern: ObjectIdentifier(instance)))
        key = ObjectKey(.instance, hash: address &* 0x9E37_79B9_7F4A_7C15)
        reference = instance
    }

    /// Creates an object of a value whose type need not be `Sendable`.
    ///
    /// The value is copied, compared and, for diagnostics, described on the threads of posters and observers, and not
    /// accessed otherwise. Its `==`, `hash(into:)` and description must be safe to call on any thread.
    package init(unsafeValue value: some Hashable) {
        key = ObjectKey(.value, hash: UInt64(truncatingIfNeeded: value.hashValue))
        reference = HashableBox(value)
    }

    /// The text, the value, or the instance.
    package var anyContent: Any {
        if let box { return box.anyValue }
        if let instance { return instance }
        return key.text
    }

    /// The text, or nil for a value or an instance.
    public var text: String? { key.kind == .text ? key.text : nil }

    /// The instance, or nil for a text or a value.
    public var instance: (any AnyObject & Sendable)? { key.kind == .instance ? reference : nil }

    /// Returns the value, or nil if this is not a value of that type.
    public func value<Value: Hashable & Sendable>(as type: Value.Type = Value.self) -> Value? {
        (box as? HashableBox<Value>)?.value
    }

    var box: (any ObjectValue)? { key.kind == .value ? reference as? any ObjectValue : nil }
}

extension NotificationObject: ExpressibleByStringInterpolation {
    /// Creates an object that is equal to objects with the same text.
    public init(stringLiteral text: String) {
        self.init(text)
    }
}

extension NotificationObject: Hashable {
    /// Compares texts by their bytes, values by `==`, and instances by identity.
    public static func == (left: NotificationObject, right: NotificationObject) -> Bool {
        guard left.key.isSame(as: right.key) else { return false }
        guard let box = left.box, let other = right.box else { return left.reference === right.reference }
        return box.isEqual(to: other)
    }

    /// Hashes the object.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(key.hash)
    }
}

extension NotificationObject: CustomStringConvertible {
    /// A description for diagnostics.
    public var description: String {
        if let box { return box.description }
        return instance.map { "\(type(of: $0))@\(ObjectIdentifier($0))" } ?? key.text
    }
}

// MARK: - Keys

/// The key by which a center looks up an object. Equal objects have equal keys. Different values may have equal keys,
/// and so may an instance and an earlier instance at the same address. ``ObjectFilter`` distinguishes such objects. A
/// key holds no reference to an instance.
struct ObjectKey: Sendable {
    enum Kind: UInt8, Sendable {
        case text
        case value
        case instance
    }

    let hash: UInt64
    /// The text, or empty for a value or an instance.
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

    /// Calls the closure with the bytes that identify the object in the core. The bytes 0xFE and 0xFF do not occur in
    /// the UTF-8 of a text, so the three kinds never have equal bytes.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if kind == .text { return text.withUTF8Bytes(body) }
        let mark: UInt64 = kind == .value ? 0xFEFE_FEFE_FEFE_FEFE : 0xFFFF_FFFF_FFFF_FFFF
        var bytes = (mark, hash)
        return withUnsafeBytes(of: &bytes, body)
    }
}

/// The exact comparison with an observer's object, for objects whose keys do not suffice. Holds the value, or a weak
/// reference to the instance.
enum ObjectFilter: Sendable {
    case value(any ObjectValue)
    case instance(WeakReference)

    /// Returns nil for a text, whose key is exact.
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

    /// Compares the observer's object with the object of a post whose key is equal. A new instance at the address of a
    /// released one differs, because the weak reference to the released instance is nil.
    ///
    /// - Returns: Whether the objects are equal.
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

/// A weak reference to an object.
final class WeakReference: Sendable {
    weak let object: (any AnyObject & Sendable)?

    init(_ object: (any AnyObject & Sendable)?) {
        self.object = object
    }
}

/// A value of any type, with type-erased equality.
protocol ObjectValue: AnyObject, Sendable, CustomStringConvertible {
    var anyValue: Any { get }

    func isEqual(to other: any ObjectValue) -> Bool
}

/// `@unchecked Sendable`: the value never changes, and is only copied, compared and described. All three are safe on
/// any thread: `init(value:)` requires a `Sendable` value, and `init(unsafeValue:)` requires this safety of its
/// callers.
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
