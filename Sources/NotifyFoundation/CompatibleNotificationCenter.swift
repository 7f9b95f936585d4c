import Foundation
public import NotifyCenter

/// Foundation's `NotificationCenter`, over a `LocalCenter` of NotifyCenter: the same calls, and Foundation's documented
/// behaviour.
///
/// ```swift
/// typealias NotificationCenter = CompatibleNotificationCenter
/// ```
///
/// in one file of a module, not public, moves this module over. Observers are called in the order in which they were
/// added, those of every name and every object among the others; one that is removed during a post and was not called
/// yet is not called any more; one that is added during a post is not called for it. No lock is held while they run, so
/// that they may call the center.
///
/// Names are compared as strings are: canonically equivalent ones are equal. The underlying center has the precomposed
/// form.
///
/// All members may be called on any thread. Posts also reach the observers of the underlying center, and posts to that
/// also reach the observers here; see ``init(center:)``.
public final class CompatibleNotificationCenter: Sendable {
    /// The underlying center.
    public let center: LocalCenter

    /// The center of the program, over `LocalCenter.default`.
    ///
    /// Notifications that Foundation itself posts, such as `UserDefaults.didChangeNotification`, are also delivered
    /// here. Other posts to Foundation's own default center are not, and nothing is posted there.
    public static let `default`: CompatibleNotificationCenter = {
        let center = CompatibleNotificationCenter(center: .default)
        FoundationForwarding.forward(to: center)
        return center
    }()

    /// Creates a center without observers.
    public convenience init() {
        self.init(center: LocalCenter())
    }

    /// Creates a center over an existing one, which several may share.
    ///
    /// To an observer of the underlying center, a `Notification` is a `LocalNotification` of the same name. Its object
    /// is the instance, the text or the value that was posted (see ``addObserver(forName:object:queue:using:)``), and
    /// its payload a ``PostedNotification``. What is posted to the underlying center is delivered here as a
    /// `Notification` whose `userInfo` has the payload under ``payloadKey``.
    public init(center: LocalCenter) {
        self.center = center
    }

    /// The key under which `userInfo` has the payload of what was posted to the underlying center.
    public static let payloadKey = "payload"
}

extension CompatibleNotificationCenter: Equatable {
    /// Whether both are the same center.
    public static func == (left: CompatibleNotificationCenter, right: CompatibleNotificationCenter) -> Bool {
        left === right
    }
}

extension CompatibleNotificationCenter: CustomStringConvertible {
    /// The type and the address.
    public var description: String {
        "<CompatibleNotificationCenter 0x\(String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16))>"
    }
}
