import NotifyCenter

extension NotificationObject {
    /// Creates the object of a post. Returns nil for a value that no observer can filter by, because it is neither an
    /// instance of a class nor hashable.
    ///
    /// The class of an instance need not be sendable: the instance is compared by identity, held weakly or by the post
    /// in progress, and not used in any other way.
    init?(ofPost object: Any) {
        if let instance = Self.instance(object) {
            self.init(anyInstance: instance)
        } else if let text = object as? String {
            self.init(text)
        } else if let optional = object as? any OptionalObject {
            guard let wrapped = optional.wrapped else { return nil }
            self.init(ofPost: wrapped)
        } else if let value = object as? any Hashable {
            self.init(unsafeValue: value)
        } else if let type = object as? any Any.Type {
            self.init(value: ObjectIdentifier(type))
        } else {
            return nil
        }
    }

    /// Returns the object if it is an instance of a class. A cast would try all other conversions first, which takes
    /// longer than the post.
    private static func instance<Object>(_ object: Object) -> (any AnyObject & Sendable)? {
        guard Object.self is AnyClass else { return nil }
        // Safe: a value of a class type is a single reference, and Sendable has no representation.
        return withUnsafePointer(to: object) { UnsafeRawPointer($0).load(as: (any AnyObject & Sendable).self) }
    }

    /// Creates the object that an observer filters by. For a value that is neither an instance nor hashable, this is a
    /// released instance, so the observer is never called.
    init(ofObserver object: Any) {
        if let known = NotificationObject(ofPost: object) {
            self = known
        } else {
            self.init(instance: Released())
        }
    }

    private final class Released: Sendable {}
}

/// An optional inside an `Any`.
private protocol OptionalObject {
    var wrapped: Any? { get }
}

extension Optional: OptionalObject {
    var wrapped: Any? { self }
}
